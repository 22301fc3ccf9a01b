"""Estimate and StudyResult → documents for programs (JSON), figures and one offline HTML file for people."""
