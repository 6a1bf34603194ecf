/** The fields above a list: a search in the ids, and the choice of one kind of rows. */

type Props<Choice extends string> = {
  readonly search: string;
  readonly onSearch: (search: string) => void;
  /** `each`: at each key, for rows that the page has. `whole`: when the text is complete, for rows that the API looks for. */
  readonly asks: "each" | "whole";
  readonly choiceLabel: string;
  /** Values with their texts. */
  readonly choices: Readonly<Record<Choice, string>>;
  readonly choice: Choice;
  readonly onChoose: (choice: Choice) => void;
};

export function SearchFields<Choice extends string>(props: Props<Choice>) {
  const { search, onSearch, asks, choiceLabel, choices, choice, onChoose } = props;
  const take = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onSearch(currentTarget.value);
  return (
    <div class="fields">
      <label class="grow">
        {asks === "each" ? "Search ids (part, or glob)" : "Search ids (glob)"}
        <input
          class="code"
          type="search"
          value={search}
          spellcheck={false}
          {...(asks === "each" ? { onInput: take } : { onChange: take })}
        />
      </label>
      <label>
        {choiceLabel}
        <select value={choice} onChange={({ currentTarget }) => onChoose(currentTarget.value as Choice)}>
          {Object.entries<string>(choices).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
