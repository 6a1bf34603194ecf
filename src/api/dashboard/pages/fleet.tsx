/** The fleet: which minions are connected, which are silent, how many keys wait; and what a target would reach. */
import { useMemo, useState } from "preact/hooks";
import { Badge, Failure, Tile, Waiting } from "../parts/notices.tsx";
import { usePolled } from "../parts/polled.ts";
import { SearchFields } from "../parts/search-fields.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { ApiClient, Target } from "../session/client.ts";
import { fleetRows, type KeyList } from "../views/fleet-view.ts";
import { addressOf } from "../views/place.ts";
import { count, globFilter, minions } from "../views/texts.ts";
import { TargetFields, TargetPreview, useExplained } from "./target-preview.tsx";

const intervalMs = 5_000;
const shows = { all: "All", silent: "Silent", connected: "Connected" } as const;

export function FleetPage({ client }: { readonly client: ApiClient }) {
  const { value, error } = usePolled("fleet", intervalMs, async () => {
    const [keys, connected] = await Promise.all([
      client.read<KeyList>("wheel", "key.list_all"),
      client.read<readonly string[]>("wheel", "minions.connected"),
    ]);
    return { keys, rows: fleetRows(keys, connected) };
  });
  const connected = value?.rows.filter(({ isConnected }) => isConnected).length ?? 0;
  return (
    <>
      <h1>Fleet</h1>
      <Failure text={error} />
      {value === undefined && error === undefined && <Waiting />}
      {value !== undefined && (
        <>
          <dl class="tiles">
            <Tile name="Connected" value={count(connected)} />
            <Tile name="Silent" value={count(value.rows.length - connected)} />
            <Tile name="Accepted" value={count(value.rows.length)} />
            <Tile name="Keys waiting" value={count(value.keys.minions_pre.length)} />
          </dl>
          {value.keys.minions_pre.length > 0 && (
            <p>
              <a href={addressOf("keys")}>Look at the keys that wait</a>
            </p>
          )}
          <Preview client={client} />
          <Minions rows={value.rows} />
        </>
      )}
    </>
  );
}

function Preview({ client }: { readonly client: ApiClient }) {
  const [target, setTarget] = useState<Target>({ tgt: "", tgt_type: "compound" });
  const explained = useExplained(client, target);
  return (
    <details class="panel">
      <summary>What would a target reach?</summary>
      <TargetFields target={target} onChange={setTarget} />
      <TargetPreview explained={explained} />
      {target.tgt !== "" && <a href={addressOf("run", "", target)}>Run a command on this target</a>}
    </details>
  );
}

function Minions({ rows }: { readonly rows: ReturnType<typeof fleetRows> }) {
  const [search, setSearch] = useState("");
  const [show, setShow] = useState<keyof typeof shows>("all");
  const found = useMemo(() => {
    const matches = globFilter(search);
    return rows.filter(
      ({ id, isConnected }) => (show === "all" || isConnected === (show === "connected")) && matches(id),
    );
  }, [rows, search, show]);
  return (
    <>
      <SearchFields
        search={search}
        onSearch={setSearch}
        asks="each"
        choiceLabel="Show"
        choices={shows}
        choice={show}
        onChoose={setShow}
      />
      <p class="muted" aria-live="polite">
        {minions(found.length)} shown
      </p>
      <VirtualList
        label="Minions"
        rows={found}
        keyOf={({ id }) => id}
        empty={rows.length === 0 ? "No minion has an accepted key." : "No minion matches."}
        draw={({ id, isConnected }) => (
          <>
            <a class="code cell-main" href={addressOf("fleet", id)}>
              {id}
            </a>
            <Badge state={isConnected ? "connected" : "silent"} />
          </>
        )}
      />
    </>
  );
}
