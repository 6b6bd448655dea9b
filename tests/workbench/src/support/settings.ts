// The editor's settings that every test starts from: nothing that moves, asks, updates or talks to the network.

export type Settings = Record<string, unknown>;

export const QUIET: Settings = {
  "chat.commandCenter.enabled": false,
  "chat.disableAIFeatures": true,
  "editor.accessibilitySupport": "off",
  "editor.minimap.enabled": false,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "git.enabled": false,
  "remote.autoForwardPorts": false,
  "remote.restoreForwardedPorts": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "window.menuBarVisibility": "compact",
  "workbench.enableExperiments": false,
  "workbench.reduceMotion": "on",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};
