// The passage that the link names, in view.

document.querySelector(".found")?.scrollIntoView({ block: "center" });
