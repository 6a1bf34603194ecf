/** All returners of `event_return` together: frames of the event bus become rows and lines, as the lists and each returner allow. */
import assert from "node:assert/strict";
import { readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { loadMasterConfig, type Overrides } from "../../../src/config/load.ts";
import { tagFilter } from "../../../src/databases/events/filter.ts";
import { EventReturning } from "../../../src/databases/events/returning.ts";
import { encodeEvent, frameEvent, frameMasterEvent } from "../../../src/wire/event.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const finishMs = 30_000;

describe("the lists of tags", () => {
  it("let through what Salt's globs let through, and the blacklist has the last word", () => {
    const all = ["salt/auth", "salt/job/1/new", "salt/job/1/ret/web1", "minion_start", "x"];
    const left = (whitelist: string[], blacklist: string[]) => all.filter(tagFilter(whitelist, blacklist));
    assert.deepEqual(left([], []), all);
    assert.deepEqual(left(["salt/job/*"], []), ["salt/job/1/new", "salt/job/1/ret/web1"]);
    assert.deepEqual(left(["salt/job/*", "x"], ["*/ret/*"]), ["salt/job/1/new", "x"]);
    assert.deepEqual(left([], ["salt/*", "?"]), ["minion_start"]);
    assert.deepEqual(left(["salt/aut[gh]"], []), ["salt/auth"]);
    assert.deepEqual(left(["salt"], []), []);
  });
});

describe("the returners of events", { timeout: 120_000 }, () => {
  const temporary = temporaryDirectories();
  const opened: EventReturning[] = [];
  afterEach(async () => {
    for (const returning of opened.splice(0)) await returning.close();
  });

  function open(more: Overrides, file = join(temporary(), "events")) {
    const config = { id: "m", event_return: "rawfile_json", "rawfile_json.filename": file };
    const returning = new EventReturning(loadMasterConfig("/nowhere", { ...config, ...more }));
    opened.push(returning);
    const take = (events: readonly (readonly [string, Encodable])[]) =>
      returning.take(
        new Uint8Array(
          Buffer.concat(
            events.map(([tag, data], index) => (index % 2 ? frameEvent : frameMasterEvent)(encodeEvent(tag, data))),
          ),
        ),
      );
    const lines = () => readFileSync(file, "utf8").split("\n").slice(0, -1);
    return { returning, take, lines, file };
  }

  it("rawfile_json appends a line for each event, as Salt writes it", async () => {
    const { returning, take, lines, file } = open({});
    take([
      ["salt/auth", { act: "accept", id: "web1", result: true, _stamp: "2026-11-20T16:09:08.845316" }],
      ['tag "quoted" ü', { list: [1, 2.5, null], text: "a\nb", bytes: Buffer.from([0x53, 0xff]) }],
    ]);
    await returning.finish(finishMs);
    assert.deepEqual(lines(), [
      '{"data": {"act": "accept", "id": "web1", "result": true, "_stamp": "2026-11-20T16:09:08.845316"}, "tag": "salt/auth"}',
      '{"data": {"list": [1, 2.5, null], "text": "a\\nb", "bytes": "S\ufffd"}, "tag": "tag \\"quoted\\" ü"}',
    ]);
    assert.equal(statSync(file).mode & 0o777, 0o640);
    renameSync(file, `${file}.1`);
    take([["after", {}]]);
    await returning.finish(finishMs);
    assert.deepEqual(lines(), ['{"data": {}, "tag": "after"}']);
  });

  it("leave out what the lists leave out, and count it", async () => {
    const lists = { event_return_whitelist: ["salt/job/*"], event_return_blacklist: ["*/new"] };
    const { returning, take, lines } = open(lists);
    take([
      ["salt/auth", { long: "x".repeat(10_000) }],
      ["salt/job/1/new", {}],
      ["salt/job/1/ret/web1", { return: true }],
    ]);
    await returning.finish(finishMs);
    assert.deepEqual(lines(), ['{"data": {"return": true}, "tag": "salt/job/1/ret/web1"}']);
    assert.deepEqual(returning.states().counters, { taken: 1, filtered: 2, unreadable: 0 });
  });

  it("that fail hold up no other, and say why", async () => {
    const nowhere = { "nats.servers": ["127.0.0.1:1"], event_return: ["nats", "rawfile_json", "nats"] };
    const { returning, take, lines } = open(nowhere);
    take([["a", {}]]);
    await returning.finish(finishMs);
    assert.deepEqual(lines(), ['{"data": {}, "tag": "a"}']);
    const [nats, file] = returning.states().returners;
    assert.deepEqual([nats?.name, nats?.waiting, file?.name, file?.waiting], ["nats", 1, "rawfile_json", 0]);
    assert.match(nats?.fault ?? "", /^nats:\/\/127\.0\.0\.1:1\/salt\.events: .*refused/i);
    assert.equal(returning.states().returners.length, 2);
  });

  it("keep events while the file cannot be written", async () => {
    const { returning, take } = open({}, join(temporary(), "missing", "events"));
    take([["a", {}]]);
    await returning.finish(finishMs);
    const [state] = returning.states().returners;
    assert.equal(state?.waiting, 1);
    assert.match(state?.fault ?? "", /missing\/events cannot be written \(ENOENT\)$/);
  });
});
