/** Types recorded commands on a fleet, several at once, and then compares each output with the recorded one. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { after, before, describe, it } from "node:test";
import { goldenPath } from "../../golden/path.ts";
import { asRecorded, comparable, type Places, type Printed } from "./compare.ts";
import { type CommandOptions, type CommandResult, GoldenFleet } from "./fleet.ts";

export type Transcript = Printed & {
  readonly name: string;
  readonly argv: readonly string[];
  readonly on_minion?: string;
  readonly stdin?: string;
  readonly stdout_timed?: readonly (readonly [seconds: number, line: string])[];
};

/** Selects tests: a regular expression for `topic:name`. The other commands of their lanes are typed, too. */
const only = new RegExp(process.env.GOLDEN_ONLY ?? "");

/** In a cluster, the lanes of commands go to its members in turn: from 0 to 2, so that three runs type each command on each member. */
const memberShift = Number(process.env.GOLDEN_MEMBER ?? "0");

function isChosen(key: string): boolean {
  return only.test(key);
}

/** Whether a recorded command, `topic:name`, is typed and compared. */
export function isTyped(key: string, decisions: Decisions): boolean {
  return isChosen(key) && !isLeftOut(key, decisions);
}

function isLeftOut(key: string, { notYet, isWanted }: Decisions): boolean {
  return notYet[key] !== undefined || isWanted?.(key) === false;
}

/** Commands at once; more would only wait for each other on two cores. */
const lanesMax = 3;

export function readTopic(topic: string): readonly Transcript[] {
  const file = topic === "functions" ? "function_transcripts" : topic;
  const { transcripts } = JSON.parse(readFileSync(goldenPath(`${file}.json`), "utf8")) as { transcripts: Transcript[] };
  const seen = new Map<string, number>();
  return transcripts.map((transcript) => {
    const count = (seen.get(transcript.name) ?? 0) + 1;
    seen.set(transcript.name, count);
    return count === 1 ? transcript : { ...transcript, name: `${transcript.name}#${count}` };
  });
}

/** The changes that make a transcript ours, and why. Fields that are not given are as recorded. */
export type Deviation = {
  readonly why: string;
  readonly expected: Partial<Printed>;
};

/** Tables by `topic:name`. */
export type Decisions = {
  /** Differences by decision, as in docs/compatibility.md. */
  readonly deviations: { readonly [key: string]: Deviation };
  /** Not built yet, with the reason: not typed, but reported. */
  readonly notYet: { readonly [key: string]: string };
  /** Values of the machine: the part of the text that remains is compared. */
  readonly variations: { readonly [key: string]: (text: string) => string };
  /** The recorded commands for this fleet; default all. */
  readonly isWanted?: (key: string) => boolean;
  /** The output of the minions' own release on its own master, if it differs from the recorded one. */
  readonly ofRelease?: (key: string) => Printed | undefined;
};

type Step = { readonly plan: TopicPlan; readonly transcript: Transcript };
/** Minions answer in any order. */
function inOrder(log: string): string {
  return log.replace(/(?:^\[DEBUG {3}\] jid \S+ return from \S+\n)+/gm, (lines) =>
    lines
      .split(/(?<=\n)/)
      .sort()
      .join(""),
  );
}

/** Commands of a lane run one after the other; lanes run side by side. */
export type Lane = readonly Step[];

export class Replay {
  readonly #results = new Map<string, CommandResult>();
  readonly #jids = new Map<string, string>();
  readonly #fleet: GoldenFleet;
  readonly #isTypedHere: boolean;

  /** `isTypedHere`: the master's commands run in this process, which is much faster, unless their plan says otherwise. */
  constructor(fleet: GoldenFleet, isTypedHere = false) {
    this.#fleet = fleet;
    this.#isTypedHere = isTypedHere;
  }

  result(topic: string, name: string): CommandResult {
    const found = this.#results.get(`${topic}:${name}`);
    if (found === undefined) throw new Error(`${topic}:${name} was not typed`);
    return found;
  }

  async runLanes(lanes: readonly Lane[]): Promise<void> {
    const waiting = [...lanes].sort((first, second) => second.length - first.length);
    const { configDirs } = this.#fleet;
    const workers = Array.from({ length: lanesMax }, async () => {
      for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
        const memberDir = configDirs[(waiting.length + memberShift) % configDirs.length];
        for (const { plan, transcript } of lane) await this.#step(plan, transcript, memberDir);
      }
    });
    await Promise.all(workers);
  }

  async #step(plan: TopicPlan, transcript: Transcript, memberDir: string | undefined): Promise<void> {
    await plan.beforeEach?.(this.#fleet, transcript.name);
    // A command that is typed on a minion's machine reads the minion's configuration.
    const configDir = plan.configDir?.(this.#fleet) ?? (transcript.argv[0] === "salt-call" ? undefined : memberDir);
    const isHere = this.#isTypedHere && !isProcess(plan, transcript);
    await this.type(plan.topic, transcript, configDir === undefined ? {} : { configDir }, isHere);
  }

  /** Types one command. Job ids of earlier recorded ones are replaced by those of this run. */
  async type(
    topic: string,
    transcript: Transcript,
    options: CommandOptions = {},
    isHere = false,
  ): Promise<CommandResult> {
    const argv = transcript.argv.map((word) => this.#ourJids(word));
    const { on_minion: onMinion, stdin } = transcript;
    const given = {
      ...options,
      ...(onMinion === undefined ? {} : { onMinion }),
      ...(stdin === undefined ? {} : { stdin }),
    };
    const result = await (isHere ? this.#fleet.runHere(argv, given) : this.#fleet.run(argv, given));
    this.keep(topic, transcript, result);
    return result;
  }

  keep(topic: string, transcript: Transcript, result: CommandResult): void {
    this.#results.set(`${topic}:${transcript.name}`, result);
    const recorded = jidsIn(transcript.stdout + transcript.stderr);
    const ours = jidsIn(result.stdout + result.stderr);
    for (const [index, jid] of recorded.entries()) {
      const own = ours[index];
      if (own !== undefined && !this.#jids.has(jid)) this.#jids.set(jid, own);
    }
  }

  #ourJids(word: string): string {
    return word.replace(/\b\d{20}(?:_\d+)?\b/g, (jid) => this.#jids.get(jid) ?? jid);
  }

  /** @throws AssertionError that shows both outputs */
  check(topic: string, transcript: Transcript, decisions: Decisions): void {
    const key = `${topic}:${transcript.name}`;
    const vary = decisions.variations[key] ?? ((text: string) => text);
    const wanted = { ...transcript, ...decisions.ofRelease?.(key), ...decisions.deviations[key]?.expected };
    const recorded = { stdout: vary(wanted.stdout), stderr: wanted.stderr, rc: wanted.rc };
    const result = this.result(topic, transcript.name);
    // With -v and --summary, ours also prints why a minion did not return.
    const stderr = inOrder(result.stderr.replace(/^\S+ did not return: .*\n/gm, ""));
    const ours = { stdout: vary(result.stdout), stderr, rc: result.rc };
    const isOrdered = transcript.argv[0] === "salt-key";
    const { expected, actual } = comparable(recorded, ours, this.#places(), isOrdered);
    assert.deepEqual(actual, expected);
  }

  /** The output with transcripts' names for places; undefined for a command that was not typed. */
  asRecorded(key: string): Printed | undefined {
    const found = this.#results.get(key);
    if (found === undefined) return undefined;
    const places = this.#places();
    return { stdout: asRecorded(found.stdout, places), stderr: asRecorded(found.stderr, places), rc: found.rc };
  }

  #places(): Places {
    const { root, homeDir, release } = this.#fleet;
    return { root, homeDir, release, user: userInfo().username };
  }
}

function jidsIn(text: string): string[] {
  return [...new Set(text.match(/\b20\d{18}(?:_\d+)?\b/g) ?? [])];
}

export type TopicPlan = {
  readonly topic: string;
  /** Transcripts with the same key run one after the other; those without a key run independently. */
  readonly laneOf?: (name: string) => string;
  /** Used instead of the fleet's own configuration directory. */
  readonly configDir?: (fleet: GoldenFleet) => string;
  readonly beforeEach?: (fleet: GoldenFleet, name: string) => void | Promise<void>;
  /** Names of commands that always run as separate processes. */
  readonly processes?: RegExp;
};

/** Commands that read input, or that run on a minion's machine, are separate processes. */
function isProcess({ processes }: TopicPlan, { name, argv, stdin }: Transcript): boolean {
  return argv[0] === "salt-call" || stdin !== undefined || processes?.test(name) === true;
}

/** One fleet: `phases` run one after the other, the commands of a phase in lanes. One test per transcript. */
export function replayTopics(
  title: string,
  phases: readonly (readonly TopicPlan[])[],
  decisions: Decisions,
  open: () => Promise<GoldenFleet> = () => GoldenFleet.start(),
  skip: string | false = false,
): void {
  describe(title, { timeout: 900_000, skip }, () => {
    let fleet: GoldenFleet | undefined;
    let replay: Replay;
    before(async () => {
      fleet = await open();
      replay = new Replay(fleet, true);
      for (const plans of phases) await replay.runLanes(plans.flatMap((plan) => topicLanes(plan, decisions)));
    });
    after(() => fleet?.close());
    for (const { topic } of phases.flat()) describeTopic(topic, () => replay, decisions);
  });
}

/** One test per transcript. Lists missing transcripts. */
export function describeTopic(topic: string, replay: () => Replay, decisions: Decisions): void {
  for (const transcript of readTopic(topic)) {
    const key = `${topic}:${transcript.name}`;
    if (!isTyped(key, decisions)) continue;
    const why = decisions.deviations[key]?.why;
    const title = `${key}: ${transcript.argv.join(" ").slice(0, 120)}`;
    it(why === undefined ? title : `${title} (not as Salt: ${why})`, () =>
      replay().check(topic, transcript, decisions),
    );
  }
  const notYet = Object.entries(decisions.notYet).filter(([key]) => key.startsWith(`${topic}:`));
  if (notYet.length === 0) return;
  it(`${topic}: what is not there yet is recorded and not typed`, (context) => {
    const recorded = new Set(readTopic(topic).map(({ name }) => `${topic}:${name}`));
    for (const [key, missing] of notYet) {
      assert.ok(recorded.has(key), key);
      context.diagnostic(`${key}: ${missing}`);
    }
  });
}

/** The lanes of a topic, without commands of parts that are not built yet. */
export function topicLanes(plan: TopicPlan, decisions: Decisions): Lane[] {
  const lanes = new Map<string, Step[]>();
  for (const transcript of readTopic(plan.topic)) {
    if (isLeftOut(`${plan.topic}:${transcript.name}`, decisions)) continue;
    const key = plan.laneOf?.(transcript.name) ?? transcript.name;
    const lane = lanes.get(key);
    if (lane === undefined) lanes.set(key, [{ plan, transcript }]);
    else lane.push({ plan, transcript });
  }
  return [...lanes.values()].filter((lane) =>
    lane.some(({ transcript }) => isChosen(`${plan.topic}:${transcript.name}`)),
  );
}
