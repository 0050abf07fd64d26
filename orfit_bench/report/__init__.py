"""Tables, figures and HTML pages of results and declarations."""
