"""What rules write with: drafts and what was decided in them, edits in a document's style, helpers, guards."""
