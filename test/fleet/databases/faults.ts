/** The faults of a database that a master must outlive: how each begins and ends, and what the operator reads of it in `jobs.cache_status`. */
import assert from "node:assert/strict";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { connectMysql } from "../../../src/databases/mysql/client.ts";
import type { DatabaseStorm } from "./database-storm.ts";

export type DatabaseFault = {
  /** In the operator's answer. */
  readonly reason: RegExp;
  /** @returns what ends the fault */
  begin(site: DatabaseStorm): Promise<() => Promise<void> | void>;
};

export const databaseFaults = {
  killed: {
    reason: /ECONNREFUSED|Connection lost|closed/i,
    begin: async ({ server }) => {
      await server.kill();
      return () => server.run();
    },
  },
  stopped: {
    // A server that is shutting down may take connections that it does not answer.
    reason: /ECONNREFUSED|shutdown|Connection lost|closed|no answer within/i,
    begin: async ({ server }) => {
      await server.kill("SIGTERM");
      return () => server.run();
    },
  },
  "disk full": {
    // MariaDB reports most writes that fail. It ends at some, as of its undo log, and then only the lost connection is to be seen.
    reason: /disk is full|ECONNREFUSED|Connection lost|closed/,
    begin: async ({ server, disk }) => {
      assert.ok(disk !== undefined);
      const ballast = join(disk.path, "ballast");
      fillDisk(ballast);
      return async () => {
        rmSync(ballast);
        if (server.hasEnded) await server.run();
      };
    },
  },
  "black hole": {
    reason: /no answer within/,
    begin: async ({ hole }) => {
      hole.swallow();
      return () => hole.pass();
    },
  },
  "tables locked": {
    reason: /locks the tables/,
    begin: async ({ server }) => {
      const client = await connectMysql(server.clientOptions());
      await client.query("LOCK TABLES jids WRITE, salt_returns WRITE");
      return async () => {
        await client.query("UNLOCK TABLES");
        client.destroy();
      };
    },
  },
  "password changed": {
    reason: /mysql\.user and mysql\.pass/,
    begin: async ({ server }) => {
      server.setPassword("another");
      return () => server.setPassword(server.password);
    },
  },
} as const satisfies Readonly<Record<string, DatabaseFault>>;

const betweenStormsMs = 500;
const blockBytes = 64 * 1024;
const smallestBytes = 512;

/** Writes zeros until not even the smallest block fits. */
function fillDisk(path: string): void {
  const file = openSync(path, "w");
  try {
    for (let bytes = blockBytes; bytes >= smallestBytes; ) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        bytes /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Begins the fault within a storm, goes on with storms for `holdMs` and until the master has noticed it, and ends it. Each return is acknowledged
 * meanwhile, the operator reads the reason, and afterwards each row is there once.
 *
 * @returns what the operator read
 */
export async function suffer(
  site: DatabaseStorm,
  fault: DatabaseFault,
  holdMs = 0,
): Promise<{ readonly reason: string }> {
  const failures = await site.count("failures");
  const endMs = performance.now() + holdMs;
  let end: () => Promise<void> | void = () => undefined;
  await site.duringStorm(async () => {
    end = await fault.begin(site);
  });
  await site.untilReturned();
  const isNoticed = async () => (await site.count("failures")) > failures;
  // A full disk is noticed when the rest of the tables' files is used up, and a lock when the wait for it ends.
  while (performance.now() < endMs || !(await isNoticed())) {
    await site.publish();
    await site.untilReturned();
    await wait(betweenStormsMs);
  }
  const { State, Reason: reason = "" } = await site.status();
  assert.equal(State, "failing");
  assert.match(reason, fault.reason);
  await end();
  await site.assertWhole();
  await site.until("nothing waits", async () => (await site.count("waiting")) === 0);
  return { reason };
}
