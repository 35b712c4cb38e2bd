# An NLP researcher wants the paper's Table 1 for SST-2 with their own vectors, and then better text.

# Vectors and groups.
custext load vectors.txt.gz --name glove
custext map --embedding glove --k 20
custext info

# What do the sentences look like?
custext leaks SST-2/train.tsv --column sentence --no-quotes --top 5
custext diff SST-2/dev.tsv --column sentence --no-quotes --rows 3 --eps 1 --plus

# Table 1, on a part of the data, next to the paper's figures; and again, which takes no time.
custext evaluate utility --train SST-2/train.tsv --test SST-2/dev.tsv --no-quotes --text sentence --limit 400 --seeds 1 \
    --mapping glove-euclidean-k20 --mechanisms original,custext+,custext,santext+ --eps 1
custext evaluate utility --train SST-2/train.tsv --test SST-2/dev.tsv --no-quotes --text sentence --limit 400 --seeds 1 \
    --mapping glove-euclidean-k20 --mechanisms original,custext+,custext,santext+ --eps 1 --json
custext evaluate utility --train CoLA/train.tsv --test CoLA/dev.tsv --no-quotes --no-header --text 4 --label 2 --limit 200 --seeds 1 \
    --mapping glove-euclidean-k20 --mechanisms original,custext --eps 1

# A better setting, by an attacker who has public texts.
custext choose SST-2/train.tsv --column sentence --no-quotes --embedding glove --k 20,40 --max-attack 0.8
custext attack context SST-2/dev.tsv --column sentence --no-quotes --public public.txt --rows 100 \
    --eps 0,1 --mapping glove-euclidean-k20
custext report SST-2/dev.tsv --column sentence --no-quotes --mapping glove-euclidean-k20 --eps 1 --html report.html

# A file for a colleague, who reads JSON arrays.
custext sanitize reviews.json sanitized.json --column text --eps 1 --plus --mapping glove-euclidean-k20

# The trial is over.
custext drop embedding glove
custext compact
