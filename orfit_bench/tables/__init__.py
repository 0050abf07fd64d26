"""Tables: their columns as arrays, the names of the columns, and files of rows."""
