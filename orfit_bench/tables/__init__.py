"""Tables: their columns as arrays, the names of these, and files of rows."""
