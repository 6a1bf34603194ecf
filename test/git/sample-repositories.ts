/** Real git repositories in a private folder, the same as those with which Salt's answers were recorded. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const identity = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "a"],
    [`GIT_${who}_EMAIL`, "a@example.org"],
    [`GIT_${who}_DATE`, "2026-01-01T00:00:00Z"],
  ]),
);

export class SampleRepository {
  readonly directory: string;

  constructor(directory: string, branch = "master") {
    this.directory = directory;
    mkdirSync(directory, { recursive: true });
    this.git("init", "-q", "-b", branch);
  }

  get url(): string {
    return `file://${this.directory}`;
  }

  git(...args: readonly string[]): string {
    const env = { ...process.env, ...identity, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
    return execFileSync("git", ["-C", this.directory, ...args], { env })
      .toString()
      .trim();
  }

  /** Writes files, and links (`-> target`), and commits them with all else that has changed. @returns the commit's id */
  commit(files: Readonly<Record<string, string | Uint8Array>>): string {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.directory, name);
      mkdirSync(dirname(path), { recursive: true });
      const link = typeof content === "string" ? /^-> (.*)$/.exec(content) : null;
      if (link?.[1] !== undefined) symlinkSync(link[1], path);
      else writeFileSync(path, content);
    }
    this.git("add", "-A");
    this.git("commit", "-q", "-m", "change");
    return this.git("rev-parse", "HEAD");
  }
}

export function samplesFolder(): { readonly folder: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "saltworks-git-"));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** `one` and `two`, with branches, tags and links. */
export function fileRepositories(folder: string): void {
  const one = new SampleRepository(join(folder, "one"));
  mkdirSync(join(one.directory, "files"));
  writeFileSync(join(one.directory, "files/a.txt"), "f\n");
  chmodSync(join(one.directory, "files/a.txt"), 0o755);
  const links = { link: "a.txt", up: "../top.sls", out: "/etc/passwd", broken: "nowhere" };
  one.commit({
    "top.sls": "top\n",
    "states/web/init.sls": "web\n",
    ...Object.fromEntries(Object.entries(links).map(([name, target]) => [`files/${name}`, `-> ${target}`])),
  });
  one.git("checkout", "-q", "-b", "dev");
  one.commit({ "top.sls": "devtop\n", "files/dev.txt": "d\n" });
  one.git("checkout", "-q", "-b", "feature/x");
  one.commit({ "x.txt": "x\n" });
  one.git("tag", "-a", "v1", "-m", "t");
  one.git("tag", "light");
  one.git("checkout", "-q", "master");
  const two = new SampleRepository(join(folder, "two"), "main");
  two.commit({ "sub/two.txt": "two\n", "top.sls": "shadow\n" });
  two.git("branch", "dev");
}

/** `top`, `other` and `mounted`. */
export function pillarRepositories(folder: string): void {
  const top = new SampleRepository(join(folder, "top"));
  top.commit({
    "top.sls": "base:\n  '*':\n    - common\n    - other.extra\n",
    "common.sls": "common: {{ grains['os'] }} {{ saltenv }}\nlist: [1]\nmap: {a: 1}\n",
    "sub/top.sls": "base:\n  '*': [insub]\n",
    "sub/insub.sls": "insub: {{ opts['id'] if 'id' in opts else 'x' }}\n",
  });
  top.git("checkout", "-q", "-b", "dev");
  top.commit({ "top.sls": "dev:\n  '*':\n    - common\n", "common.sls": "common: dev {{ saltenv }}\n" });
  top.git("checkout", "-q", "master");
  new SampleRepository(join(folder, "other")).commit({
    "other/extra.sls": "extra: from other\n",
    "top.sls": "base:\n  '*': [two]\n",
    "two.sls": "two: 2\nlist: [2]\nmap: {b: 2}\n",
  });
  new SampleRepository(join(folder, "mounted")).commit({ "extra.sls": "extra: mounted\n" });
}
