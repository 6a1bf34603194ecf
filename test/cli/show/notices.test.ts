import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandLine, noticeDelivery } from "../../../src/cli/show/notices.ts";
import { TestHost } from "../test-host.ts";

const untilMs = new Date(2026, 10, 23, 4, 5, 6, 789).getTime();

type Told = { readonly isAsked?: boolean; readonly isTerminal?: boolean; readonly untilMs?: number | undefined };

function told(away: readonly string[] | undefined, { isAsked = true, isTerminal = false, ...rest }: Told = {}): string {
  const host = new TestHost();
  if (isTerminal) host.errorTerminal = process.stderr;
  noticeDelivery("untilMs" in rest ? rest.untilMs : untilMs, isAsked, away, host);
  return host.err;
}

describe("notices of a job that waits for minions", () => {
  it("name five of them, count the others and say until when", () => {
    const rest = ": a minion that is away gets the job if it comes back before 2026-11-23 04:05:06.\n";
    assert.equal(told(["web1"]), `web1${rest}`);
    assert.equal(told(["a", "b", "c", "d", "e", "f", "g"]), `a, b, c, d, e and 2 others${rest}`);
  });

  it("speak of all where it is not known yet who is away", () => {
    const text = "Minions that are away get the job if they come back before 2026-11-23 04:05:06.\n";
    assert.equal(told(undefined), text);
  });

  it("are left out where no minion is away, and where the master keeps no such job", () => {
    assert.equal(told([]), "");
    assert.equal(told(["web1"], { untilMs: undefined }), "");
  });

  it("go to a terminal only where the site's option makes the job wait", () => {
    assert.equal(told(["web1"], { isAsked: false }), "");
    assert.match(told(["web1"], { isAsked: false, isTerminal: true }), /^web1: /);
  });
});

describe("a suggested command", () => {
  it("repeats the configuration directory that was given, in quotes where a shell needs them", () => {
    const words = "saltworks run jobs.follow 1";
    assert.equal(commandLine(words, undefined), words);
    assert.equal(commandLine(words, "/srv/salt"), "saltworks run -c /srv/salt jobs.follow 1");
    assert.equal(commandLine(words, "/my dir"), "saltworks run -c '/my dir' jobs.follow 1");
  });
});
