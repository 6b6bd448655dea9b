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
    deprecated_tag          diagnostics may be tagged as about something deprecated
    diagnostic_data         diagnostics come back with the data they were sent with
    tells_saves             the client says when a document is saved
    disabled_actions        code actions may be shown disabled, with a reason
    resolves_edits          a code action's edit may be asked for later
    versioned_edits         workspace edits may name the version that they are for (`documentChanges`)
    creates_files           workspace edits may make files
    change_annotations      edits may carry a label and ask for confirmation
    pulls_diagnostics       the client asks for diagnostics, and asks again when it is told to
    refreshes_code_lenses   the client asks for code lenses again when it is told to
    refreshes_inlay_hints   the same of inlay hints
    synchronizes_notebooks  notebooks are told as such
    applies_edits           edits may be sent to the client unasked
    shows_progress          the client shows how far work is
    answers_configuration   `workspace/configuration` is answered
    registers_configuration `workspace/didChangeConfiguration` has to be registered for
    registers_watching      `workspace/didChangeWatchedFiles` can be registered for
    """

    markdown: bool = False
    related_information: bool = False
    code_descriptions: bool = False
    deprecated_tag: bool = False
    diagnostic_data: bool = False
    tells_saves: bool = False
    disabled_actions: bool = False
    resolves_edits: bool = False
    versioned_edits: bool = False
    creates_files: bool = False
    change_annotations: bool = False
    pulls_diagnostics: bool = False
    refreshes_code_lenses: bool = False
    refreshes_inlay_hints: bool = False
    synchronizes_notebooks: bool = False
    applies_edits: bool = False
    shows_progress: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    registers_watching: bool = False

    @staticmethod
    def of(client: types.ClientCapabilities) -> Capabilities:
        def has(path: str) -> bool:
            return bool(get_capability(client, path, False))

        formats = get_capability(client, "text_document.hover.content_format", None) or ()
        resolved = get_capability(client, "text_document.code_action.resolve_support.properties", None) or ()
        tags = get_capability(client, "text_document.publish_diagnostics.tag_support.value_set", None) or ()
        versioned = has("workspace.workspace_edit.document_changes")
        operations = get_capability(client, "workspace.workspace_edit.resource_operations", None) or ()
        annotated = get_capability(client, "workspace.workspace_edit.change_annotation_support", None)
        return Capabilities(
            markdown=types.MarkupKind.Markdown in formats,
            related_information=has("text_document.publish_diagnostics.related_information"),
            code_descriptions=has("text_document.publish_diagnostics.code_description_support"),
            deprecated_tag=types.DiagnosticTag.Deprecated in tags,
            diagnostic_data=has("text_document.publish_diagnostics.data_support"),
            tells_saves=has("text_document.synchronization.did_save"),
            disabled_actions=has("text_document.code_action.disabled_support"),
            resolves_edits="edit" in resolved and has("text_document.code_action.data_support"),
            versioned_edits=versioned,
            creates_files=versioned and types.ResourceOperationKind.Create in operations,
            change_annotations=versioned and annotated is not None,  # `changes` has no room for annotations
            # what a save changes has to be asked for again: without that, pushing is the surer way
            pulls_diagnostics=get_capability(client, "text_document.diagnostic", None) is not None
            and has("workspace.diagnostics.refresh_support"),
            refreshes_code_lenses=has("workspace.code_lens.refresh_support"),
            refreshes_inlay_hints=has("workspace.inlay_hint.refresh_support"),
            synchronizes_notebooks=get_capability(client, "notebook_document", None) is not None,
            applies_edits=has("workspace.apply_edit"),
            shows_progress=has("window.work_done_progress"),
            answers_configuration=has("workspace.configuration"),
            registers_configuration=has("workspace.did_change_configuration.dynamic_registration"),
            registers_watching=has("workspace.did_change_watched_files.dynamic_registration"),
        )
