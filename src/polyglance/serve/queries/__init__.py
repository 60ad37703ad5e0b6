"""What a request asks: parameters, filters, texts, uploads and pages."""
