// A language status item, while the workspace is not trusted: what is not used there, and the way to trust it.

import { l10n, languages, workspace } from "vscode";
import { Owner } from "../owner";
import { SERVED } from "../served";

export class TrustItem extends Owner {
  constructor() {
    super();
    if (workspace.isTrusted) {
      return; // a workspace that is trusted stays so while its window is open
    }
    const item = this.own(languages.createLanguageStatusItem("horovodize.trust", SERVED));
    item.name = l10n.t("Horovodize, workspace trust");
    item.text = l10n.t("Horovodize is limited");
    item.detail = l10n.t("the workspace is not trusted"); // a longer one would push the command out of sight
    item.command = { command: "workbench.trust.manage", title: l10n.t("Manage Trust") };
    item.accessibilityInformation = { label: l10n.t("Horovodize is limited: the workspace is not trusted, and nothing of it is run") };
    this.own(
      workspace.onDidGrantWorkspaceTrust(() => {
        this.dispose();
      }),
    );
  }
}
