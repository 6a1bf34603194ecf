/**
 * The file server's backends, by their names in `fileserver_backend`. A new backend needs a folder beside `roots/`, a line in `backends` below, and
 * its name in config/options/file-backends.ts.
 */
import { type FileBackendName, isBuilt } from "../../config/options/file-backends.ts";
import type { FileBackend } from "./contract/backend.ts";
import type { FileServerSettings } from "./contract/settings.ts";
import { GitBackend } from "./git/backend.ts";
import { MinionfsBackend } from "./minionfs/backend.ts";
import { PythonBackend } from "./python/backend.ts";
import { RootsBackend } from "./roots/backend.ts";

const backends: Readonly<Record<FileBackendName, (settings: FileServerSettings) => FileBackend>> = {
  roots: (settings) => new RootsBackend(settings),
  git: (settings) => new GitBackend("git", settings.git),
  minionfs: (settings) => new MinionfsBackend("minionfs", settings),
  minion: (settings) => new MinionfsBackend("minion", settings),
  gitfs: (settings) => new GitBackend("gitfs", settings.git),
};

/** The configured backends, in the order of their search. */
export function openFileBackends(settings: FileServerSettings): FileBackend[] {
  return settings.backends.map((name) =>
    isBuilt(name) ? backends[name](settings) : new PythonBackend(name, settings),
  );
}
