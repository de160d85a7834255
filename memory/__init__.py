"""Personaconv, lowest layer: what people wrote, and what of it comes back."""
