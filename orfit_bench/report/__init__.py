"""What people read: tables of results and of what is declared."""
