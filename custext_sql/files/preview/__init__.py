"""What the owner of texts looks at before a release: nothing is released, saved or entered in the ledger."""
