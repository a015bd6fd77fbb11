"""The GitHub App: from a webhook delivery to one comment, labels, or a reason for neither."""
