/** `saltworks cluster status` and `check`: what they say, also on a machine that cannot ask the cluster. */
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { freePorts } from "../../bench/free-ports.ts";
import { exitCodeOf, reportText } from "../../src/cli/commands/cluster/check.ts";
import { statusText } from "../../src/cli/commands/cluster/status.ts";
import { serverFiles } from "../../src/cluster/server/prepare.ts";
import { asStranger, cluster, confDir, isRoot, peers, place, secret, secretFileIn } from "./cluster-site.ts";

describe("saltworks cluster status and check on a machine that cannot ask", () => {
  const member = { cluster_id: "prod", cluster_peers: ["a", "b"] };
  const secretFile = join(place, "readable-by-root");
  writeFileSync(secretFile, `${secret}\n`);
  chmodSync(secretFile, 0o000);
  const missing = join(place, "no-such-file");
  const cases: readonly (readonly [what: string, config: object, why: RegExp])[] = [
    ["without a cluster", {}, /not a member of a cluster: .* `saltworks cluster init` or `join` makes it one$/m],
    ["without a secret", member, /cluster_secret is missing/],
    ["with a short secret", { ...member, cluster_secret: "short" }, /it has 5 characters/],
    ["without its secret's file", { ...member, cluster_secret_file: missing }, /cannot be read: ENOENT/],
    [
      "without the right to read the secret",
      { ...member, cluster_secret_file: secretFile },
      /: EACCES.*; run the command as root or/,
    ],
  ];
  for (const word of ["status", "check"])
    for (const [what, config, why] of cases)
      it(`${word} ${what} ends with 2 and one line`, async () => {
        const directory = confDir(config);
        const { exitCode, out, err } = await asStranger(() => cluster(directory, [word]));
        assert.deepEqual([exitCode, out], [2, ""]);
        assert.match(err, /^saltworks cluster: .*\n$/);
        assert.match(err, why);
      });
});

describe("saltworks cluster status", () => {
  const servers = ["a", "b", "c", "d", "e"].map((name) => ({
    ...{ name, version: "2.15.2", isLeader: name === "a", isAnswering: name < "d", isStoring: true, behind: 0 },
  }));
  const report = {
    ...{ cluster: "prod", sees: "servers" as const, hasQuorum: true, serverCount: 5, servers },
    ...{ leaderless: [], owners: null },
  };

  it("names the streams that take no changes", () => {
    assert.match(statusText(report), /^The cluster takes changes\.$/m);
    assert.match(
      statusText({ ...report, leaderless: ["KV_sw_prod_keys", "sw_prod_jobs"] }),
      /^The cluster does not take all changes: .* answer for KV_sw_prod_keys, sw_prod_jobs\.$/m,
    );
  });

  it("shows how many jobs each member owns, and who may not go on with them", () => {
    const owners = [
      { member: "a", holdsLease: true, batchJobs: 2, waitingJobs: 1_200 },
      { member: "long", holdsLease: false, batchJobs: 1, waitingJobs: 0 },
      { member: "c", holdsLease: null, batchJobs: 0, waitingJobs: 1 },
    ];
    const text = statusText({ ...report, owners });
    assert.match(text, /^Owners of jobs:\n {2}a {5}2 batch jobs, 1,200 waiting jobs$/m);
    assert.match(
      text,
      /^ {2}long {2}1 batch job, 0 waiting jobs, HAS NO LEASE\n {2}c {5}0 batch jobs, 1 waiting job$/m,
    );
    assert.match(statusText(report), /^No member says who owns batch jobs and waiting jobs\.$/m);
  });
});

describe("saltworks cluster check", () => {
  const report = {
    cluster: "prod",
    members: [{ name: "m1", role: "master" as const }],
    differences: [],
    omitted: 0,
    unasked: [],
  };
  const difference = {
    member: "m2",
    subject: "file_roots" as const,
    environment: "base",
    name: "top.sls",
    kind: "differs" as const,
  };
  const silent = { member: "m3", why: "no answer" };

  it("tells alike, different and unasked members by its exit code", () => {
    assert.equal(exitCodeOf(report), 0);
    assert.equal(exitCodeOf({ differences: [difference], unasked: [silent] }), 1);
    assert.equal(exitCodeOf({ differences: [], unasked: [silent] }), 2);
  });

  it("has a line for each difference and each silent member", () => {
    const text = reportText({ ...report, differences: [difference], omitted: 4, unasked: [silent] });
    assert.equal(
      text,
      "Cluster prod: compared m1\n  m2: file_roots base top.sls: differs\n  and 4 more\nNot asked:\n  m3: no answer\nThe members differ in 5 places.\n",
    );
  });

  it("ends with 2 if this machine's server was never started", async () => {
    const directory = confDir();
    await cluster(directory, ["init", "--id", "prod", "--peers", peers]);
    const { exitCode, err } = await cluster(directory, ["check"]);
    assert.equal(exitCode, 2);
    assert.match(err, /has not been started .*: start `saltworks master` or `saltworks witness` on this machine$/m);
  });

  it("asks whether the master runs if this machine's server does not answer, and names who may ask", async () => {
    const directory = confDir();
    await cluster(directory, ["init", "--id", "prod", "--peers", peers]);
    const { configuration } = serverFiles(join(directory, "cache", "cluster"));
    mkdirSync(dirname(configuration), { recursive: true });
    const [free] = await freePorts(1);
    writeFileSync(configuration, JSON.stringify({ port: free }));
    const silent = await cluster(directory, ["check"]);
    assert.equal(silent.exitCode, 2);
    assert.match(silent.err, /own NATS server does not answer: .*; does the master or witness run\?$/m);
    chmodSync(configuration, 0o000);
    if (isRoot) chownSync(secretFileIn(directory), 65_534, 65_534);
    const stranger = await asStranger(() => cluster(directory, ["check"]));
    assert.equal(stranger.exitCode, 2);
    assert.match(stranger.err, /may not read its configuration .*; run the command as root or as the master's user$/m);
  });
});
