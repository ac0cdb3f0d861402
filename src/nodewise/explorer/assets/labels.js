// Dash's list of check boxes takes no name for screen readers.
"use strict";
new MutationObserver((_, observer) => {
  const list = document.getElementById("off");
  if (!list) return;
  list.setAttribute("aria-label", "Levels to switch off");
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
