"""Personaconv, middle layer: users who speak in threads."""
