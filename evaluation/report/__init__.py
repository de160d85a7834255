"""The report: one HTML file made from stored scores and turns; its tables and plots stand without scripting."""
