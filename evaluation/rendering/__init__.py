"""Sheets in the forms that people and programs read, one a file: text, Markdown, LaTeX, JSON, Parquet, HTML, SVG."""
