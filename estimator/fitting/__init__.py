"""The coefficients of the models, fitted to public measurements (extra ``fit``)."""
