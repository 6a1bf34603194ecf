import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { repositoryRoot } from "../../root.ts";
import type { Program } from "../program.ts";
import { openReleases } from "../salt-releases.ts";
import { TestBed } from "../test-bed.ts";
import { differencesOf } from "./comparable.ts";
import { differences, type Instead } from "./differences.ts";
import { installPepper, isInstalled, otherwise, type PepperRun, runPepper } from "./pepper.ts";
import { type Exchange, recorded } from "./recorded.ts";
import { Replay } from "./replay.ts";
import { ReplayFleet } from "./replay-fleet.ts";
import { type RuleName, rules } from "./rules.ts";
import { EventReader, nearest, type StreamEvent, upgradeLine } from "./streams.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const listed = new Map(differences.flatMap(({ exchanges }) => Object.entries(exchanges)));

/** Jobs of an earlier part of the recording, by their ids. */
const earlierJobs = [
  ["20261120154928258802", "m1", "state.apply", "basic"],
  ["20261120154931292404", "m2", "state.apply", "basic"],
  ["20261120154934379007", "m1", "state.apply", "broken"],
  ["20261120154937445636", "*", "cmd.run", "echo hello"],
] as const;
const isWithoutMaster = ({ name }: Exchange) => name.startsWith("down_");
/** These show what other requests have started. */
const isAlone = ({ name }: Exchange) => name === "frozen_jobs_active";

/**
 * A removed key leaves targets within a second, because removals are gathered. The recorded exchanges had more time between them. The master says nothing
 * if it notices the key and its removal together.
 */
async function untilKeyIsGone(program: Program, mark: number): Promise<void> {
  const endMs = performance.now() + 2_000;
  while (!/"removed":1.*minion keys changed/.test(program.outputSince(mark)) && performance.now() < endMs)
    await delay(50);
}

/** Runs exchanges, and notes which rules and listed differences were met. */
class Checker {
  readonly #replay: Replay;
  readonly #master: Program;
  readonly met = new Set<string>();

  constructor(replay: Replay, master: Program) {
    this.#replay = replay;
    this.#master = master;
  }

  /** @returns what is wrong */
  async check(file: string, exchange: Exchange): Promise<string[]> {
    const name = `${file}/${exchange.name}`;
    const mark = this.#master.printedLength;
    const { status, body, differences: found, rules: used } = await this.#replay.run(file, exchange);
    if (exchange.name === "key_delete") await untilKeyIsGone(this.#master, mark);
    for (const rule of used) this.met.add(rule);
    return this.judge(name, found, status, body);
  }

  judge(name: string, found: readonly string[], status: number | null, body: unknown): string[] {
    const instead = listed.get(name);
    if (instead === undefined) return found.map((text) => `${name}: ${text}`);
    this.met.add(name);
    if (found.length === 0) return [`${name} is listed as a difference, and is none`];
    return isAs(instead, status, body) ? [] : [`${name}: ${status} ${JSON.stringify(body)}`];
  }

  async checkAll(file: string, exchanges: readonly Exchange[]): Promise<void> {
    const wrong: string[] = [];
    for (const exchange of exchanges) wrong.push(...(await this.check(file, exchange)));
    assert.deepEqual(wrong, []);
  }
}

function isAs(instead: Instead, status: number | null, body: unknown): boolean {
  if (instead.status !== status) return false;
  return instead.body instanceof RegExp
    ? instead.body.test(JSON.stringify(body))
    : differencesOf(instead.body, body).length === 0;
}

const isThere = process.env.CI === "true" || isInstalled();
const skip = releases.skip === false && !isThere ? "pepper is not installed beside the Salt releases" : releases.skip;

describe("exchanges recorded with Salt's HTTP API are answered alike", { skip }, () => {
  const bed = new TestBed();
  let fleet: ReplayFleet;
  let replay: Replay;
  let checker: Checker;
  let reader: EventReader;
  before(async () => {
    if (release === undefined) return;
    if (process.env.CI === "true") await installPepper(release);
    fleet = await ReplayFleet.start(bed, release, async (port, id) => {
      reader = await EventReader.open(port, id);
    });
    replay = new Replay(fleet);
    checker = new Checker(replay, fleet.master.program);
  });
  after(async () => await bed.close());

  for (const file of ["session", "clients", "resources", "permissions", "jobs", "events-sse"] as const)
    bed.it(`${file}.json`, async () => {
      const { exchanges } = recorded(file);
      await checker.checkAll(
        file,
        exchanges.filter((exchange) => !isWithoutMaster(exchange)),
      );
    });

  bed.it("saltgui.json, also for users with few permissions", async () => {
    fleet.dropMarker();
    await replay.prepare(earlierJobs);
    type Restricted = { readonly user: string; readonly calls: readonly (readonly [string, number])[] };
    const { exchanges, restricted } = recorded<{ exchanges: Exchange[]; restricted: Restricted[] }>("saltgui");
    await checker.checkAll("saltgui", exchanges);
    for (const { user, calls } of restricted) {
      const id = await fleet.login(user);
      for (const [call, status] of calls) {
        const exchange = exchanges.find(({ request }) => callOf(request.body) === call);
        assert.ok(exchange, call);
        assert.equal(await replay.statusFor(id, exchange), status, `${user} ${call}`);
      }
    }
  });

  bed.it("events-sse.json: every event has the same form, and websocket.json the same status", async () => {
    const { records } = recorded<{ records: { json: StreamEvent }[] }>("events-sse");
    // The pending minion of the recording is here one that is accepted later.
    const events = records.map(
      ({ json }) => JSON.parse(JSON.stringify(json).replace('"id":"m3"', '"id":"m1"')) as StreamEvent,
    );
    assert.deepEqual(
      events.flatMap((event) => nearest(event, reader.events) ?? []).filter((text) => !isDoubled(text)),
      [],
    );
    assert.equal(reader.head.headers["content-type"], "text/event-stream;charset=utf-8");
    type Upgrade = { readonly name: string; readonly request: string; readonly response_head: readonly string[] };
    const id = await fleet.login("admin");
    for (const { name, request, response_head: head } of recorded<{ exchanges: Upgrade[] }>("websocket").exchanges)
      assert.equal(await upgradeLine(fleet.portOf("main"), request.replace(/\b[0-9a-f]{40}\b/, id)), head[0], name);
  });

  bed.it("pepper.json: pepper's command lines print and end alike", async () => {
    const { runs } = recorded<{ runs: PepperRun[] }>("pepper");
    // The second command of two uses the token that the first one has left.
    const lanes = [runs.filter(({ name }) => name.startsWith("make_token")), [], []] as PepperRun[][];
    for (const [index, run] of runs.entries())
      if (!run.name.startsWith("make_token")) lanes[1 + (index % 2)]?.push(run);
    const wrong = lanes.map(async (lane) => {
      const found: string[] = [];
      for (const run of lane) {
        const ended = await runPepper(fleet, run);
        found.push(
          ...checker.judge(`pepper/${run.name}`, otherwise(run, ended), ended.code, ended.stdout.toString().trim()),
        );
      }
      return found;
    });
    assert.deepEqual((await Promise.all(wrong)).flat(), []);
  });

  bed.it("unresponsive-minion.json", async () => {
    fleet.freeze("m2");
    const { exchanges } = recorded("unresponsive-minion");
    // Side by side, because most of them wait ten seconds for the minion that is silent.
    for (const part of [exchanges.filter(isAlone), exchanges.filter((exchange) => !isAlone(exchange))]) {
      const wrong = await Promise.all(part.map((exchange) => checker.check("unresponsive-minion", exchange)));
      assert.deepEqual(wrong.flat(), []);
    }
  });

  bed.it("resources.json without a master", async () => {
    await fleet.master.program.stop();
    await checker.checkAll("resources", recorded("resources").exchanges.filter(isWithoutMaster));
  });

  bed.it("with the listed differences alone, and with each of them", () => {
    const names: readonly string[] = [...listed.keys(), ...(Object.keys(rules) as RuleName[])];
    assert.deepEqual(
      names.filter((name) => !checker.met.has(name)),
      [],
    );
    return Promise.resolve();
  });
});

function callOf(body: unknown): string {
  const { client, fun } = (body ?? {}) as { client?: string; fun?: string };
  return `${client}:${fun}`;
}

/** Salt fires the events of a wheel function twice; those of the second call have another form. */
function isDoubled(text: string): boolean {
  return /^salt\/wheel\/<jid>\/(?:new|ret): \.data\.user: "UNKNOWN" became "admin"/.test(text);
}

describe("differences from Salt's HTTP API", () => {
  it("are in the manual", () => {
    const manual = readFileSync(join(repositoryRoot, "docs/http-api.md"), "utf8").replaceAll(/\s+/g, " ");
    const sentences = [...differences.map(({ doc }) => doc), ...Object.values(rules)];
    assert.deepEqual(
      sentences.filter((sentence) => !manual.includes(sentence)),
      [],
    );
  });
});
