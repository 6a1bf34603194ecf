/** Handles events of the minion's own bus: forwards some to the master; on others reloads modules, grains or pillar. */
import { boolField } from "../wire/fields.ts";
import type { ValueMap } from "../wire/values.ts";
import { scheduleReturnTag } from "./schedule/runner.ts";
import { manageTag } from "./schedule/scheduler.ts";
import type { MasterLink } from "./session/master-link.ts";

export type BusActions = {
  /** Undefined without a master. Events for the master are then dropped, as in Salt. */
  readonly link: Pick<MasterLink, "fireEvent" | "fireEvents" | "ask"> | undefined;
  readonly renewModules: () => void;
  /** Handles a `manage_schedule` event: a question about the schedule, or a change to it. */
  readonly manageSchedule: (data: ValueMap) => void;
  /** `load`: a scheduled job's return. */
  readonly sendReturn: (load: ValueMap) => void;
  /** Resolves when the facts are renewed. */
  readonly renewFacts: (wish: { isPillarWanted: boolean; isCacheCleaned: boolean }) => Promise<void>;
};

/** Handles one event. Ignores tags that it does not know: those events are for readers of the bus. */
export async function handleBusEvent(tag: string, data: ValueMap, actions: BusActions): Promise<void> {
  const { link, renewModules, renewFacts } = actions;
  const isForced = boolField(data, "force_refresh") === true;
  if (tag.startsWith("module_refresh")) {
    renewModules();
    if (isForced) await renewFacts({ isPillarWanted: false, isCacheCleaned: false });
  } else if (tag.startsWith("pillar_refresh")) {
    await renewFacts({ isPillarWanted: true, isCacheCleaned: boolField(data, "clean_cache") === true });
  } else if (tag.startsWith("grains_refresh")) {
    await renewFacts({ isPillarWanted: isForced, isCacheCleaned: false });
  } else if (tag.startsWith(manageTag)) {
    actions.manageSchedule(data);
  } else if (tag.startsWith(scheduleReturnTag)) {
    actions.sendReturn(data);
  } else if (tag.startsWith("fire_master")) {
    await forward(data, link);
  } else if (tag.startsWith("_salt_error")) {
    await link?.fireEvent(tag, data);
  } else if (tag.startsWith("_minion_mine")) {
    await link?.ask(Object.fromEntries(Array.from(data, ([name, value]) => [String(name), value])));
  }
}

async function forward(data: ValueMap, link: BusActions["link"]): Promise<void> {
  const events = data.get("events");
  if (Array.isArray(events)) await link?.fireEvents(events, data.get("pretag") ?? null);
  else if (typeof data.get("tag") === "string") await link?.fireEvent(String(data.get("tag")), data.get("data") ?? {});
}
