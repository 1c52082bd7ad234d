"""Views as text. A renderer reads views and knows one format; it never computes what a view could tell."""
