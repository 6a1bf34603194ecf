/** The event streams of the transcripts: while `state.event` runs, a command makes events. */
import { setTimeout as delay } from "node:timers/promises";
import type { GoldenFleet } from "./fleet.ts";
import { type Decisions, isTyped, type Replay, readTopic } from "./replay.ts";

const pollMs = 50;
const subscribeTimeoutMs = 60_000;

/** The command that makes a transcript's events, and the text after which a stream without an end is ended. */
const triggers: {
  readonly [name: string]: { readonly commands: readonly (readonly string[])[]; readonly end?: RegExp };
} = {
  ping_events_pretty: {
    commands: [["salt", "es*", "test.ping"]],
    end: /(?:salt\/job\/\d+\/ret\/es[12]\t\{[\s\S]*?\n\}\n[\s\S]*){2}/,
  },
  ping_events_compact: { commands: [["salt", "es1", "test.ping"]], end: /\/ret\/es1\t\{.*\}\n/ },
  count_tag: { commands: [["salt", "es*", "cmd.run", "exit 3"]] },
  custom_event: {
    commands: [
      ["salt-call", "event.send", "my/tag", "{a: 1}"],
      ["salt-run", "event.send", "my/other", '{"b": 2}'],
    ],
  },
  runner_events: { commands: [["salt-run", "test.arg", "a"]] },
  auth_and_mine: { commands: [["salt-call", "test.ping"]], end: /salt\/job\/\d+\/ret\/es1\t\{[\s\S]*?\n\}\n/ },
};

/** No other job may run on the fleet meanwhile. */
export async function typeEvents(fleet: GoldenFleet, replay: Replay, decisions: Decisions): Promise<void> {
  for (const transcript of readTopic("events")) {
    const trigger = triggers[transcript.name];
    if (trigger === undefined || !isTyped(`events:${transcript.name}`, decisions)) continue;
    // Earlier followers may still be connected.
    await untilSubscribers(fleet, (count) => count === 0);
    const stream = fleet.open(transcript.argv);
    await untilSubscribers(fleet, (count) => count > 0);
    for (const command of trigger.commands) await fleet.run(command);
    if (trigger.end !== undefined) {
      await stream.untilPrinted(trigger.end);
      stream.child.kill("SIGKILL");
    }
    replay.keep("events", transcript, await stream.done);
  }
}

async function untilSubscribers(fleet: GoldenFleet, isEnough: (count: number) => boolean): Promise<void> {
  const deadlineMs = performance.now() + subscribeTimeoutMs;
  while (!isEnough(fleet.subscriberCount())) {
    if (performance.now() > deadlineMs) throw new Error(`${fleet.subscriberCount()} programs follow the event bus`);
    await delay(pollMs);
  }
}
