"""The LLM as a second reader: text in, schema-checked ids out; the local answer stands whatever it does."""
