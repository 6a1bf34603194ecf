/** The name of a connection that writes, of which each master has one. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { DatabaseConfig } from "./database.ts";

/** Another master, or a copy on another machine, has another name. `role`: what the connection writes, if not jobs. */
export function writerName({ id, cachedir }: DatabaseConfig, role?: "events"): string {
  const facts = [id, hostname(), cachedir, ...(role === undefined ? [] : [role])];
  return `saltworks.${createHash("sha256").update(facts.join("\0")).digest("hex").slice(0, 32)}`;
}
