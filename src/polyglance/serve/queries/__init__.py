"""Parsing of requests: parameters, filters, texts, uploads and pages."""
