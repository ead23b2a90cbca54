// Suggest codes while one types, as an ARIA combobox with a listbox. Without this script the fields are plain text fields.
// The attribute data-codes of a field is the address of its code list, whose "codes" are descriptions by code.
(() => {
  const MAX_SHOWN = 8;
  const MIN_LENGTH = 2;
  const lists = new Map();

  const load = (address) => {
    if (!lists.has(address)) {
      const rows = fetch(address).then((reply) => reply.json()).then((list) => Object.entries(list.codes));
      lists.set(address, rows.catch(() => []));
    }
    return lists.get(address);
  };

  const find = (rows, typed) => {
    const code = typed.toLowerCase().replaceAll(".", "");
    const words = typed.toLowerCase().split(/\s+/);
    const byCode = rows.filter(([value]) => value.toLowerCase().replaceAll(".", "").startsWith(code));
    const byWords = rows.filter(([, text]) => words.every((word) => text.toLowerCase().includes(word)));
    return [...new Set([...byCode, ...byWords])].slice(0, MAX_SHOWN);
  };

  const enhance = (input) => {
    const list = document.createElement("ul");
    const status = document.createElement("div");
    list.id = `${input.id}-codes`;
    list.className = "suggestions";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", `Suggestions: ${input.labels[0].textContent.trim()}`);
    status.className = "visually-hidden";
    status.setAttribute("role", "status");
    const wrapper = document.createElement("div");
    wrapper.className = "typeahead";
    input.before(wrapper);
    wrapper.append(input, list, status);
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("aria-controls", list.id);
    let active = -1;

    const mark = (number) => {
      const options = [...list.children];
      active = options.length ? (number + options.length) % options.length : -1;
      options.forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
      if (active < 0) input.removeAttribute("aria-activedescendant");
      else {
        input.setAttribute("aria-activedescendant", options[active].id);
        options[active].scrollIntoView({ block: "nearest" });
      }
    };

    const close = () => {
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };

    const choose = (option) => {
      input.value = option.dataset.code;
      status.textContent = `${option.dataset.code} chosen`;
      close();
    };

    const suggest = async () => {
      const typed = input.value.trim();
      if (typed.length < MIN_LENGTH) return close();
      const rows = await load(input.dataset.codes);
      if (typed !== input.value.trim() || document.activeElement !== input) return;
      const matches = find(rows, typed);
      list.replaceChildren(
        ...matches.map(([code, text], place) => {
          const option = document.createElement("li");
          const strong = document.createElement("strong");
          strong.textContent = code;
          option.id = `${list.id}-${place}`;
          option.dataset.code = code;
          option.setAttribute("role", "option");
          option.setAttribute("aria-selected", "false");
          option.append(strong, ` ${text}`);
          option.addEventListener("mousedown", (event) => {
            event.preventDefault();
            choose(option);
          });
          return option;
        }),
      );
      active = -1;
      input.removeAttribute("aria-activedescendant");
      list.hidden = matches.length === 0;
      input.setAttribute("aria-expanded", String(matches.length > 0));
      status.textContent = matches.length ? `${matches.length} suggestions` : "No suggestions";
    };

    input.addEventListener("input", suggest);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) suggest();
        else mark(event.key === "ArrowDown" ? active + 1 : active < 0 ? -1 : active - 1);
        event.preventDefault();
      } else if (event.key === "Enter" && !list.hidden && active >= 0) {
        choose(list.children[active]);
        event.preventDefault();
      } else if (event.key === "Escape" && !list.hidden) {
        close();
        event.preventDefault();
      }
    });
  };

  document.querySelectorAll("input[data-codes]").forEach(enhance);
})();
