/** The options of `saltworks completion`, a command that Salt does not have. */
import { generalOptions } from "./general-options.ts";
import type { CommandTable } from "./option.ts";

const { isVersionAsked, isHelpAsked } = generalOptions;
const completionOptions = { isVersionAsked, isHelpAsked };

/** The shells with a completion script. */
export const shells = ["bash", "zsh", "fish"] as const;

export const completionCommand: CommandTable<typeof completionOptions> = {
  program: "saltworks completion",
  usage: `saltworks completion ${shells.join("|")}`,
  about:
    "Prints a script with which the shell completes commands, options and their values, minion ids and functions. In ~/.bashrc: source <(saltworks completion bash). In ~/.zshrc, behind compinit: source <(saltworks completion zsh). In ~/.config/fish/config.fish: saltworks completion fish | source",
  groups: [{ title: "", options: completionOptions }],
  unavailable: [],
};
