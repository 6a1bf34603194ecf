/** What a rendering thread knows of the site's own Python before it asks. */
import type { MasterConfig } from "../config/load.ts";
import { type AskPython, SitePython } from "../pillar/in-python/ask-python.ts";
import { servedNames } from "../sidecar/availability.ts";
import { askBlocking, type BlockingLine } from "../sidecar/blocking.ts";

/** Asks on the task's line, and waits. */
export function askThrough(line: BlockingLine | undefined): AskPython | undefined {
  return line && ((question, timeoutMs) => askBlocking(line, question, timeoutMs));
}

export function sitePythonOf(config: MasterConfig): SitePython {
  return new SitePython(servedNames(config, "pillar"), {
    sourceMs: config.ext_pillar_timeout * 1_000,
    renderMs: config.pillar_render_timeout * 1_000,
  });
}
