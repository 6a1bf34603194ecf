import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandLine, noticeDelivery } from "../../src/cli/notices.ts";
import { TestHost } from "./test-host.ts";

function told(within: unknown, away: readonly string[] | undefined): string {
  const host = new TestHost();
  noticeDelivery(within, away, host);
  return host.err.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, "THEN");
}

describe("notices of a job that waits for minions", () => {
  it("name five of them, count the others and say until when", () => {
    const rest = ": a minion that is away gets the job if it comes back before THEN.\n";
    assert.equal(told("2h", ["web1"]), `web1${rest}`);
    assert.equal(told("90s", ["a", "b", "c", "d", "e", "f", "g"]), `a, b, c, d, e and 2 others${rest}`);
  });

  it("speak of all where it is not known yet who is away", () => {
    assert.equal(told("2h", undefined), "Minions that are away get the job if they come back before THEN.\n");
  });

  it("are left out where no minion is away, and where no such job was asked for", () => {
    assert.equal(told("2h", []), "");
    assert.equal(told(undefined, ["web1"]), "");
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
