/** Reads the remotes of `gitfs_remotes` and of `ext_pillar: git`, each with the options that it inherits. Source: Salt 3007's `GitProvider`. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { SaltworksError } from "../errors.ts";
import { addressOf, type GitAccess } from "./access.ts";

export type GitRole = "gitfs" | "git_pillar";
export type RefType = "branch" | "tag" | "sha";
export type GitOption = (name: string) => unknown;

/** Reads options of a configuration by their names. */
export function gitOptionOf(config: object): GitOption {
  return (name) => (config as Readonly<Record<string, unknown>>)[name];
}

/** `ref`, `root` and `mountpoint` of one environment. */
export type EnvironmentOptions = Readonly<Partial<Record<"ref" | "root" | "mountpoint", string>>>;

export type GitRemote = {
  readonly role: GitRole;
  /** As the configuration names it: `URL`, or `BRANCH URL` of a pillar. */
  readonly id: string;
  readonly name: string | undefined;
  /** Its bare repository and what belongs to it. */
  readonly directory: string;
  readonly access: GitAccess;
  readonly refspecs: readonly string[];
  readonly updateIntervalMs: number;
  readonly refTypes: readonly RefType[];
  readonly base: string;
  readonly fallback: string;
  readonly root: string;
  readonly mountpoint: string;
  readonly allSaltenvs: string | undefined;
  /** Of files only. By environment. */
  readonly saltenv: ReadonlyMap<string, EnvironmentOptions>;
  readonly globalSaltenv: ReadonlyMap<string, EnvironmentOptions>;
  readonly isUnmapped: boolean;
  readonly whitelist: readonly string[];
  readonly blacklist: readonly string[];
  /** Of a pillar only: its branch, or `__env__`, and its environment, or an empty text. */
  readonly branch: string;
  readonly env: string;
};

const ofAccess = ["ssl_verify", "user", "password", "insecure_auth", "privkey", "pubkey", "passphrase"];
/** What a remote may set of its own. */
const ownNames: Readonly<Record<GitRole, readonly string[]>> = {
  gitfs: [
    ..."base fallback mountpoint root saltenv_whitelist saltenv_blacklist refspecs disable_saltenv_mapping".split(" "),
    ..."ref_types update_interval all_saltenvs name saltenv".split(" "),
    ...ofAccess,
  ],
  git_pillar: [..."base env root refspecs fallback name mountpoint all_saltenvs".split(" "), ...ofAccess],
};
const refTypes: readonly RefType[] = ["branch", "tag", "sha"];
/** Where repositories lie below `cachedir`: not in Salt's own directories, whose form is another. */
export const repositoriesName = "git_repositories";

/** `where`: `gitfs_remotes` or `ext_pillar`, for messages. @throws SaltworksError CONFIG_INVALID that names the remote */
export function remotesOf(role: GitRole, written: readonly unknown[], option: GitOption): GitRemote[] {
  const remotes = written.map((one) => new RemoteReader(role, one, option).read());
  for (const [index, { directory, id }] of remotes.entries()) {
    const other = remotes.findIndex((one) => one.directory === directory);
    if (other !== index)
      throw invalid(role, id, `is there twice; a 'name' of its own keeps it apart from ${remotes[other]?.id}`);
  }
  return remotes;
}

function invalid(role: GitRole, id: string, text: string): SaltworksError {
  return new SaltworksError("CONFIG_INVALID", `${role} remote ${shownId(id)} ${text}`, { remote: shownId(id) });
}

/** Without a user name and password in the URL. */
export function shownId(id: string): string {
  return id.replaceAll(/:\/\/[^\s/@]*@/g, "://");
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return value instanceof Object && !Array.isArray(value);
}

/** A map, or a list of maps with one key each. */
function entriesOf(value: unknown): Map<string, unknown> {
  const maps = Array.isArray(value) ? value : [value];
  return new Map(maps.flatMap((one) => (isMap(one) ? Object.entries(one) : [])));
}

function textOf(value: unknown): string {
  return ["string", "number", "bigint", "boolean"].includes(typeof value) ? String(value) : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value)
    ? value.map(textOf)
    : textOf(value)
        .split(",")
        .filter((part) => part !== "");
}

/** Without `salt://` and slashes at the ends. */
function pathOf(value: unknown): string {
  return textOf(value)
    .replace(/^salt:\/\//, "")
    .replace(/^\/+|\/+$/g, "");
}

function environmentsOf(value: unknown): Map<string, EnvironmentOptions> {
  return new Map(
    [...entriesOf(value)].map(([environment, written]) => {
      const options = entriesOf(written);
      const ref = options.has("ref") ? { ref: textOf(options.get("ref")) } : {};
      const paths = ["root", "mountpoint"].filter((name) => options.has(name));
      return [environment, { ...ref, ...Object.fromEntries(paths.map((name) => [name, pathOf(options.get(name))])) }];
    }),
  );
}

class RemoteReader {
  readonly #role: GitRole;
  readonly #id: string;
  readonly #own: ReadonlyMap<string, unknown>;
  readonly #option: GitOption;

  constructor(role: GitRole, written: unknown, option: GitOption) {
    this.#role = role;
    this.#option = option;
    const [id, own] = isMap(written) ? (Object.entries(written)[0] ?? []) : [written];
    this.#id = textOf(id).trim();
    this.#own = entriesOf(own);
    if (isMap(written) && this.#own.size === 0) throw this.#invalid("has no options; remove the colon behind it");
    for (const name of this.#own.keys())
      if (!ownNames[role].includes(name))
        throw this.#invalid(`has no option '${name}'; known: ${ownNames[role].join(", ")}`);
  }

  read(): GitRemote {
    const { branch, url } = this.#parts();
    const name = textOf(this.#own.get("name")) || undefined;
    const [isPillar, base] = [this.#role === "git_pillar", textOf(this.#value("base"))];
    if (isPillar && branch !== "__env__" && this.#own.has("base"))
      throw this.#invalid("has 'base', which is only for the branch __env__");
    const saltenv = isPillar ? new Map<string, EnvironmentOptions>() : environmentsOf(this.#own.get("saltenv"));
    return {
      role: this.#role,
      id: this.#id,
      name,
      directory: this.#directory(name),
      access: this.#access(url),
      refspecs: this.#refspecs(),
      updateIntervalMs: Number(this.#value("update_interval") ?? 60) * 1_000,
      refTypes: isPillar ? ["branch", "tag"] : this.#refTypes(),
      base: saltenv.get("base")?.ref ?? base,
      fallback: textOf(this.#value("fallback")),
      root: pathOf(this.#value("root")),
      mountpoint: pathOf(isPillar ? this.#own.get("mountpoint") : this.#value("mountpoint")),
      allSaltenvs: this.#own.has("all_saltenvs") ? textOf(this.#own.get("all_saltenvs")) : undefined,
      saltenv,
      globalSaltenv: isPillar ? new Map() : environmentsOf(this.#option("gitfs_saltenv")),
      isUnmapped: !isPillar && this.#value("disable_saltenv_mapping") === true,
      whitelist: isPillar ? [] : textsOf(this.#value("saltenv_whitelist")),
      blacklist: isPillar ? [] : textsOf(this.#value("saltenv_blacklist")),
      branch,
      env: isPillar ? textOf(this.#value("env")) : "",
    };
  }

  #invalid(text: string): SaltworksError {
    return invalid(this.#role, this.#id, text);
  }

  #value(name: string): unknown {
    return this.#own.get(name) ?? this.#option(`${this.#role}_${name}`);
  }

  /** A pillar's remote is `BRANCH URL`. */
  #parts(): { readonly branch: string; readonly url: string } {
    if (this.#role === "gitfs") return { branch: "", url: this.#id };
    const found = /^(\S+)\s+(.+)$/.exec(this.#id);
    return { branch: found?.[1] ?? textOf(this.#option("git_pillar_branch")), url: found?.[2] ?? this.#id };
  }

  /** Its name in the file system is a digest: a URL may hold any character. */
  #directory(name: string | undefined): string {
    const plain = name !== undefined && /^[\w.-]{1,100}$/.test(name) && !name.startsWith(".") ? name : undefined;
    const digest = createHash("sha256")
      .update(name ?? this.#id)
      .digest("hex")
      .slice(0, 32);
    return join(textOf(this.#option("cachedir")), repositoriesName, this.#role, plain ?? digest);
  }

  #access(url: string): GitAccess {
    const address = addressOf(url);
    if ("fault" in address) throw this.#invalid(address.fault);
    const text = (name: string) => textOf(this.#value(name));
    const [user, password] = [text("user"), text("password")];
    const isSecret = user !== "" || password !== "";
    if (isSecret && address.url.startsWith("http://") && this.#value("insecure_auth") !== true)
      throw this.#invalid("would send its password over http://; insecure_auth allows it");
    return {
      ...address,
      verifies: this.#value("ssl_verify") !== false,
      user,
      password,
      privateKey: text("privkey"),
      passphrase: text("passphrase"),
    };
  }

  #refspecs(): readonly string[] {
    const written = textsOf(this.#value("refspecs"));
    const wrong = written.find((one) => !/^\+?refs\/[^\s:~^?[\\]+:refs\/[^\s:~^?[\\]+$/.test(one));
    if (wrong !== undefined) throw this.#invalid(`has a refspec that cannot be read: ${wrong}`);
    return written;
  }

  #refTypes(): readonly RefType[] {
    const written = textsOf(this.#value("ref_types")).map((one) => one.toLowerCase());
    const wrong = written.find((one) => !refTypes.some((known) => known === one));
    if (wrong !== undefined) throw this.#invalid(`has a ref_type '${wrong}'; known: ${refTypes.join(", ")}`);
    return written as RefType[];
  }
}
