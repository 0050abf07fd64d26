"""Tables, figures and HTML pages for results and declarations."""
