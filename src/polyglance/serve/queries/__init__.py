"""What a request asks: parameters, filters, texts, pictures and pages."""
