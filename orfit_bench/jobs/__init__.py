"""Jobs: work in processes of its own, files that are written whole or not at all, and a record of the machine."""
