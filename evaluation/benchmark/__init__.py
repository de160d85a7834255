"""PersonaConvBench: as its reference code selects and scores, and corrected; settings as one grid, run and tabled"""
