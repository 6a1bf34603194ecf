/** The minions' keys with their fingerprints: accepts, rejects and deletes them after a confirmation. */
import { useMemo, useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { Badge, Failure, Waiting } from "../parts/notices.tsx";
import { usePolled } from "../parts/polled.ts";
import { SearchFields } from "../parts/search-fields.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { ApiClient } from "../session/client.ts";
import { type KeyList, type KeyRow, type KeyState, keyRows, keyStates } from "../views/fleet-view.ts";
import { count, globFilter } from "../views/texts.ts";
import { Fingerprint } from "./fingerprint.tsx";

const intervalMs = 5_000;
const actions = {
  accept: { title: "Accept", fun: "key.accept", more: { include_rejected: true, include_denied: true } },
  reject: { title: "Reject", fun: "key.reject", more: { include_accepted: true, include_denied: true } },
  delete: { title: "Delete", fun: "key.delete", more: {} },
} as const;
const stateChoices = { "": "all", ...Object.fromEntries(keyStates.map((name) => [name, name])) } as Record<
  KeyState | "",
  string
>;
type Action = keyof typeof actions;
const namedMax = 8;

export function KeysPage({ client }: { readonly client: ApiClient }) {
  const { value, error, reload } = usePolled("keys", intervalMs, async () => {
    return keyRows(await client.read<KeyList>("wheel", "key.list_all"));
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [action, setAction] = useState<Action>();
  const rows = value ?? [];
  const chosenRows = useMemo(() => rows.filter(({ id }) => chosen.has(id)), [rows, chosen]);
  const act = async (name: Action) => {
    const { fun, more } = actions[name];
    await client.wheel(fun, { match: chosenRows.map(({ id }) => id), ...more });
    setChosen(new Set());
    reload();
  };
  return (
    <>
      <h1>Keys</h1>
      <Failure text={error} />
      {value === undefined && error === undefined && <Waiting />}
      {value !== undefined && <KeyTable client={client} rows={rows} chosen={chosen} onChoose={setChosen} />}
      <div class="buttons" aria-live="polite">
        <span>{count(chosenRows.length)} chosen</span>
        {(Object.keys(actions) as Action[]).map((name) => (
          <button
            key={name}
            type="button"
            class={name === "accept" ? "primary" : name === "delete" ? "danger" : ""}
            disabled={chosenRows.length === 0}
            onClick={() => setAction(name)}
          >
            {actions[name].title} …
          </button>
        ))}
      </div>
      {action !== undefined && (
        <Confirm
          title={`${actions[action].title} ${count(chosenRows.length)} ${chosenRows.length === 1 ? "key" : "keys"}?`}
          action={actions[action].title}
          isDangerous={action !== "accept"}
          onConfirm={() => act(action)}
          onClose={() => setAction(undefined)}
        >
          {action === "accept" && <p>Compare the fingerprints with those on the minions first.</p>}
          <ul class="named">
            {chosenRows.slice(0, namedMax).map(({ id }) => (
              <li key={id}>
                <span class="code">{id}</span> <Fingerprint client={client} id={id} />
              </li>
            ))}
          </ul>
          {chosenRows.length > namedMax && <p>and {count(chosenRows.length - namedMax)} more</p>}
        </Confirm>
      )}
    </>
  );
}

type KeyTableProps = {
  readonly client: ApiClient;
  readonly rows: readonly KeyRow[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
};

function KeyTable({ client, rows, chosen, onChoose }: KeyTableProps) {
  const [search, setSearch] = useState("");
  const [state, setState] = useState<KeyState | "">("");
  const found = useMemo(() => {
    const matches = globFilter(search);
    return rows.filter((row) => (state === "" || row.state === state) && matches(row.id));
  }, [rows, search, state]);
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChoose(next);
  };
  const areAll = found.length > 0 && found.every(({ id }) => chosen.has(id));
  return (
    <>
      <SearchFields
        search={search}
        onSearch={setSearch}
        asks="each"
        choiceLabel="State"
        choices={stateChoices}
        choice={state}
        onChoose={setState}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={areAll}
          onChange={() => onChoose(areAll ? new Set() : new Set(found.map(({ id }) => id)))}
        />
        Choose all {count(found.length)} shown
      </label>
      <VirtualList
        label="Keys"
        rows={found}
        keyOf={({ id, state: keyState }) => `${keyState} ${id}`}
        empty={rows.length === 0 ? "No minion has sent a key." : "No key matches."}
        draw={(row) => (
          <>
            <label class="check cell-main code">
              <input type="checkbox" checked={chosen.has(row.id)} onChange={() => toggle(row.id)} />
              {row.id}
            </label>
            <Badge state={row.state} />
            <Fingerprint client={client} id={row.id} />
          </>
        )}
      />
    </>
  );
}
