"""Personaconv, top layer: was it like them?"""
