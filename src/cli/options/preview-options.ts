/** Options of `saltworks salt` that show or check a target before a job is sent. */
import { flag, int } from "./option.ts";

export const previewOptions = {
  isPreviewAsked: flag(["--preview-target"], "Show the minions that the target is expected to match; send nothing."),
};

/** Options that Salt does not have. */
export const explainOptions = {
  isExplainAsked: flag(
    ["--explain"],
    "Show how many and which minions the target matches, which of them are connected and when they were last heard, what each term of a compound matches, and names that no accepted minion has; send nothing.",
  ),
  confirmAbove: int(
    ["--confirm-above"],
    "NUMBER",
    "Ask before sending a job to more minions than this. Without a terminal, send it only with --yes. Default: the configured confirm_above; 0: never ask.",
  ),
  isYesSaid: flag(["-y", "--yes"], "Send the job to any number of minions without asking."),
};
