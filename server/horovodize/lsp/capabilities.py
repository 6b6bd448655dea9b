"""What the client can do, read once from its `initialize` request."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types
from pygls.capabilities import get_capability


@dataclass(frozen=True)
class Capabilities:
    """The client's abilities that answers depend on. All False is a client of the first days, and is served
    too.

    markdown                hovers may be Markdown
    related_information     diagnostics may name other places
    code_descriptions       diagnostics may link to a page
    diagnostic_data         diagnostics come back with the data they were sent with
    tells_saves             the client says when a document is saved
    disabled_actions        code actions may be shown disabled, with a reason
    resolves_edits          a code action's edit may be asked for later
    versioned_edits         workspace edits may name the version that they are for (`documentChanges`)
    change_annotations      edits may carry a label and ask for confirmation
    answers_configuration   `workspace/configuration` is answered
    registers_configuration `workspace/didChangeConfiguration` has to be registered for
    """

    markdown: bool = False
    related_information: bool = False
    code_descriptions: bool = False
    diagnostic_data: bool = False
    tells_saves: bool = False
    disabled_actions: bool = False
    resolves_edits: bool = False
    versioned_edits: bool = False
    change_annotations: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False

    @staticmethod
    def of(client: types.ClientCapabilities) -> Capabilities:
        def has(path: str) -> bool:
            return bool(get_capability(client, path, False))

        formats = get_capability(client, "text_document.hover.content_format", None) or ()
        resolved = get_capability(client, "text_document.code_action.resolve_support.properties", None) or ()
        versioned = has("workspace.workspace_edit.document_changes")
        annotated = get_capability(client, "workspace.workspace_edit.change_annotation_support", None)
        return Capabilities(
            markdown=types.MarkupKind.Markdown in formats,
            related_information=has("text_document.publish_diagnostics.related_information"),
            code_descriptions=has("text_document.publish_diagnostics.code_description_support"),
            diagnostic_data=has("text_document.publish_diagnostics.data_support"),
            tells_saves=has("text_document.synchronization.did_save"),
            disabled_actions=has("text_document.code_action.disabled_support"),
            resolves_edits="edit" in resolved and has("text_document.code_action.data_support"),
            versioned_edits=versioned,
            change_annotations=versioned and annotated is not None,  # `changes` has no room for annotations
            answers_configuration=has("workspace.configuration"),
            registers_configuration=has("workspace.did_change_configuration.dynamic_registration"),
        )
