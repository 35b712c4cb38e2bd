"""The choice of a mapping and of an eps at which an attack stays within a bound."""
