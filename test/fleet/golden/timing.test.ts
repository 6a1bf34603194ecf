import { after, before, describe } from "node:test";
import { decisions } from "./decisions.ts";
import { GoldenFleet } from "./fleet.ts";
import { Replay } from "./replay.ts";
import { describeWaits, typeWaits } from "./waits.ts";

describe("which command waits for which minions, and for how long, as on Salt's fleet", { timeout: 600_000 }, () => {
  let fleet: GoldenFleet | undefined;
  let replay: Replay;
  before(async () => {
    fleet = await GoldenFleet.start();
    replay = new Replay(fleet);
    await typeWaits(fleet, replay, decisions);
  });
  after(() => fleet?.close());
  describeWaits(() => replay, decisions);
});
