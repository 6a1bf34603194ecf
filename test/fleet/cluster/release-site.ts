/** A cluster whose members run different releases, for the test of an upgrade: each member goes on in its directories when its program is replaced. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { descriptorsForMaster } from "../../../bench/fleet/descriptors.ts";
import { type MasterOptions, MasterProcess } from "../../../bench/master-process.ts";
import { startTogether } from "../../../bench/members/together.ts";
import type { JobRequest } from "../../../src/client/job-request.ts";
import { MasterClient } from "../../../src/client/master-client.ts";
import { ownUserName } from "../../../src/config/host/user.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { Program } from "../../interop/program.ts";
import { readCounters, sumOf } from "../our-master.ts";
import { runProgram } from "../run-cli.ts";
import { joinsOf, memberAt, memberConfigs, untilSo } from "./members.ts";

/** `cliFile`: its command line's program. */
export type Release = { readonly version: string; readonly cliFile: string };
/** The member's command is read at each of its starts. */
type Options = Omit<MasterOptions, "command"> & { command: readonly string[] };

/** Of a command and of one wait, on a machine that does much else. */
const limitMs = 150_000;
const stateFolders = ["minions", "minions_pre", "minions_rejected", "minions_denied"];
export const places = [0, 1, 2] as const;

const commandOf = ({ cliFile }: Release) => [process.execPath, cliFile, "master"];

export class ReleaseSite {
  readonly #members: MasterProcess[];
  readonly #options: readonly Options[];
  readonly #releases: Release[];
  readonly #clients: (MasterClient | undefined)[] = [];

  private constructor(members: MasterProcess[], options: readonly Options[], release: Release) {
    this.#members = members;
    this.#options = options;
    this.#releases = members.map(() => release);
  }

  /** Starts three members of one release. Resolves when they have joined. */
  static async start(release: Release, config: Readonly<Record<string, unknown>>): Promise<ReleaseSite> {
    const descriptors = descriptorsForMaster(20);
    const options = (await memberConfigs(places.length, config)).map((each) => {
      return { command: commandOf(release), config: each, descriptors };
    });
    const members = await startTogether(options.map((each) => MasterProcess.start(each)));
    const site = new ReleaseSite(members, options, release);
    await Promise.all(places.map((at) => untilSo(`member ${at} joins`, () => joinsOf(site.member(at)) > 0, limitMs)));
    return site;
  }

  member(at: number): MasterProcess {
    return memberAt(this.#members, at);
  }

  versions(): string[] {
    return this.#releases.map(({ version }) => version);
  }

  async client(at: number): Promise<MasterClient> {
    const client = this.#clients[at] ?? (await MasterClient.open(this.config(at), ownUserName()));
    this.#clients[at] = client;
    return client;
  }

  config(at: number) {
    return loadMasterConfig(this.member(at).configDirectory);
  }

  /** Stops a member in order, and starts it with the program of another release. `meanwhile`: when it has stopped. */
  async change(at: number, release: Release, meanwhile: () => Promise<void>): Promise<void> {
    const [member, options] = [this.member(at), this.#options[at]];
    assert.ok(options !== undefined);
    const joins = joinsOf(member);
    this.#close(at);
    assert.equal(await member.stop(), 0, "it ends in order");
    await meanwhile();
    options.command = commandOf(release);
    this.#releases[at] = release;
    await member.restart();
    await untilSo(`member ${at} joins again`, () => joinsOf(member) > joins, limitMs);
  }

  /** A command line of the member's release. */
  cli(at: number, ...words: readonly string[]) {
    const { cliFile } = this.#releases[at] ?? assert.fail(`member ${at} is not started`);
    const [command = "", ...rest] = words;
    const args = [cliFile, command, ...(command === "cluster" ? [rest.shift() ?? ""] : [])];
    return runProgram(process.execPath, [...args, "-c", this.member(at).configDirectory, ...rest], limitMs);
  }

  /** @returns the job's id */
  async publish(at: number, target: string, more: Partial<JobRequest> = {}): Promise<string> {
    const request = { target, targetKind: "glob", delimiter: ":", fun: "cmd.run", args: ["true"], ...more };
    const published = await (await this.client(at)).publish(request);
    return published?.jid ?? assert.fail(`${target} matched no minion on member ${at}`);
  }

  async runner(at: number, fun: string, ...args: readonly Value[]): Promise<ValueMap> {
    const outcome = await (await this.client(at)).runner(fun, args, new Map());
    assert.ok(outcome.isSuccess, `${fun} on member ${at}: ${String(outcome.value)}`);
    return outcome.value instanceof Map ? outcome.value : new Map();
  }

  /** As `runner`, for a function that only reads: it leaves no record. */
  async read(at: number, fun: string, kwargs: Readonly<Record<string, string>> = {}): Promise<ValueMap> {
    const outcome = await (await this.client(at)).read("runner", fun, new Map(Object.entries(kwargs)));
    assert.ok(outcome.isSuccess, `${fun} on member ${at}: ${String(outcome.value)}`);
    return outcome.value instanceof Map ? outcome.value : new Map();
  }

  async wheel(at: number, fun: string, match: string): Promise<void> {
    const outcome = await (await this.client(at)).wheel(fun, { match });
    assert.ok(outcome.isSuccess, `${fun} on member ${at}: ${String(outcome.value)}`);
  }

  /** Writes a key as another program does. */
  writeKey(at: number, state: "minions" | "minions_pre", id: string, publicPem: string): void {
    writeFileSync(join(this.member(at).pkiDirectory, state, id), publicPem);
  }

  /** Minions that hear the member's publishes. */
  async subscriberCount(at: number): Promise<number> {
    const client = this.member(at).client();
    try {
      return sumOf(await readCounters(client), /^publishes\.subscribers$/);
    } finally {
      client.close();
    }
  }

  /** Waits until all members have the same keys, and `isSo` holds on the first. */
  async untilKeysAlike(what: string, isSo: (states: ReadonlyMap<string, string>) => boolean): Promise<void> {
    const areSo = () => {
      const [first = new Map(), ...others] = this.#members.map(keysOf);
      const text = JSON.stringify([...first]);
      return isSo(first) && others.every((other) => JSON.stringify([...other]) === text);
    };
    await untilSo(`the same keys: ${what}`, areSo, limitMs);
  }

  async remove(): Promise<void> {
    for (const at of places) this.#close(at);
    await Promise.all(this.#members.map((member) => member.remove()));
  }

  #close(at: number): void {
    this.#clients[at]?.close();
    this.#clients[at] = undefined;
  }
}

/** A minion of a release, as a program of its own. */
export function startMinion({ cliFile }: Release, id: string, member: MasterProcess, directory: string): Program {
  const settings = {
    ...{ id, master: "127.0.0.1", master_port: member.requestPort, publish_port: member.publishPort },
    ...{ root_dir: join(directory, "root"), user: ownUserName(), enable_fqdns_grains: false },
    ...{ acceptance_wait_time: 1, recon_max: 1_000, random_reauth_delay: 1 },
  };
  mkdirSync(join(directory, "etc"), { recursive: true });
  writeFileSync(join(directory, "etc", "minion"), JSON.stringify(settings));
  return new Program(id, process.execPath, [cliFile, "minion", "-c", join(directory, "etc")]);
}

/** Each id with its states and keys. */
function keysOf({ pkiDirectory }: MasterProcess): ReadonlyMap<string, string> {
  const found = stateFolders.flatMap((state) =>
    readdirSync(join(pkiDirectory, state))
      .filter((id) => !id.startsWith("."))
      .map((id) => [`${state}/${id}`, readFileSync(join(pkiDirectory, state, id), "utf8").trim()] as const),
  );
  return new Map(found.sort(([one], [other]) => (one < other ? -1 : 1)));
}
