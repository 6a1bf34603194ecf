/**
 * A tree of states and files, and the requests of a stock minion that applies its highstate on it.
 * The order is recorded from Salt 3007: test/golden/highstate.json, which a test compares.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Load } from "../../fleet/storm/messages.ts";

/** `files`: of the whole tree. `states` of them are sls files; `managed` are what one minion's states copy. */
export type Tree = {
  readonly files: number;
  readonly fileBytes: number;
  readonly states: number;
  readonly managed: number;
};

/** Directories that the master of this process serves. */
const site = join(tmpdir(), `saltworks-bench-highstate-${process.pid}`);
const saltenv = "base";
/** Kinds of modules of which a minion looks for new ones before each highstate (`autoload_dynamic_modules`): a list of files for each. */
const moduleKinds = 17;

/**
 * The configuration of a master that serves the tree. `isFromGit`: files and pillars come from git repositories, and pillars from the output of a
 * command, too.
 */
export function highstateConfig(isFromGit: boolean): Readonly<Record<string, unknown>> {
  const [states, pillar] = [join(site, "states"), join(site, "pillar")];
  if (!isFromGit) return { file_roots: { [saltenv]: [states] }, pillar_roots: { [saltenv]: [pillar] } };
  return {
    fileserver_backend: ["git"],
    gitfs_remotes: [`file://${states}`],
    ext_pillar: [{ cmd_yaml: "echo 'told: by a command'" }, { git: [`master file://${pillar}`] }],
  };
}

/** Writes the tree, once for all masters of this process. It is removed when the process ends. */
export function writeSite(tree: Tree, isFromGit: boolean): void {
  rmSync(site, { recursive: true, force: true });
  put("states/top.sls", topFile(tree));
  for (const path of [...statePaths(tree), ...sourceNames(tree)]) put(`states/${path}`, textOf(path, tree.fileBytes));
  put("pillar/top.sls", "base:\n  '*':\n    - common\n");
  const settings = Array.from({ length: 50 }, (_, index) => `  setting_${index}: {{ grains['id'] }}-${index}\n`);
  put("pillar/common.sls", `role: web\nsettings:\n${settings.join("")}`);
  if (isFromGit) for (const part of ["states", "pillar"]) commitAll(join(site, part));
  process.once("exit", removeSite);
}

function removeSite(): void {
  rmSync(site, { recursive: true, force: true });
}

function commitAll(directory: string): void {
  const identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
  for (const words of [
    ["init", "-q", "-b", "master"],
    ["add", "-A"],
    [...identity, "commit", "-q", "-m", "site"],
  ])
    execFileSync("git", ["-C", directory, ...words]);
}

function put(name: string, text: string): void {
  const path = join(site, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function topFile(tree: Tree): string {
  return `base:\n  '*':\n${stateNames(tree)
    .map((name) => `    - ${name}\n`)
    .join("")}`;
}

function textOf(path: string, bytes: number): string {
  return `# ${path}\n`.padEnd(bytes, "setting = value\n");
}

function stateNames({ states }: Tree): string[] {
  return Array.from({ length: states }, (_, index) => `role${index}.init`);
}

function statePaths(tree: Tree): string[] {
  return stateNames(tree).map((name) => `${name.replaceAll(".", "/")}.sls`);
}

/** The other files of the tree, which states copy. */
function sourceNames({ files, states }: Tree): string[] {
  return Array.from({ length: files - states - 1 }, (_, index) => `files/${Math.floor(index / 50)}/${index}.conf`);
}

/** The requests of one highstate. `isFirst`: the minion has no file yet; otherwise it compares hashes and fetches nothing. */
export function highstateRequests(o: {
  readonly id: string;
  /** The minion's number in the fleet: each gets other files of the tree. */
  readonly index: number;
  readonly jid: string;
  readonly tree: Tree;
  readonly isFirst: boolean;
}): Load[] {
  const { id, tree, isFirst } = o;
  const sources = sourceNames(tree);
  const managed = Array.from(
    { length: tree.managed },
    (_, at) => sources[(o.index * tree.managed + at) % sources.length] ?? "",
  );
  const states = statePaths(tree);
  const size = (path: string): number => textOf(path, tree.fileBytes).length;
  const fetched = (path: string, bytes: number): Load[] => (isFirst ? pieces(path, bytes) : []);
  return [
    { cmd: "_master_opts" },
    pillarRequest(id),
    { cmd: "_file_envs" },
    ...found("top.sls"),
    ...fetched("top.sls", topFile(tree).length),
    { cmd: "_master_tops", id, opts: { id } },
    ...Array.from({ length: moduleKinds + 1 }, () => ({ cmd: "_file_list", saltenv, prefix: "" })),
    ...states.flatMap((path) => [...found(path), ...fetched(path, size(path))]),
    ...managed.flatMap((path) => [hashOf(path), ...found(path), ...fetched(path, size(path))]),
    highstateReturn(id, o.jid, managed),
  ];
}

function pillarRequest(id: string): Load {
  const none = { saltenv: null, pillarenv: null, pillar_override: {}, extra_minion_data: {} };
  return { cmd: "_pillar", id, grains: { id }, ...none, ver: "2" };
}

function hashOf(path: string): Load {
  return { cmd: "_file_hash", path, saltenv };
}

function found(path: string): Load[] {
  return [hashOf(path), { cmd: "_file_find", path, saltenv }];
}

/** The file, which fits one piece, and the empty piece that ends it. */
function pieces(path: string, bytes: number): Load[] {
  return [0, bytes].map((loc) => ({ cmd: "_serve_file", path, saltenv, loc }));
}

function highstateReturn(id: string, jid: string, managed: readonly string[]): Load {
  return {
    cmd: "_return",
    id,
    jid,
    fun: "state.highstate",
    fun_args: [],
    success: true,
    retcode: 0,
    return: Object.fromEntries(
      managed.map((source, run) => [`file_|-/etc/${source}_|-/etc/${source}_|-managed`, stateResult(source, run)]),
    ),
  };
}

function stateResult(source: string, run: number) {
  return {
    name: `/etc/${source}`,
    changes: {},
    result: true,
    comment: `File /etc/${source} is in the correct state`,
    __sls__: `role${run}.init`,
    __run_num__: run,
    start_time: "10:00:00.000000",
    duration: 12.5,
    __id__: `/etc/${source}`,
  };
}
