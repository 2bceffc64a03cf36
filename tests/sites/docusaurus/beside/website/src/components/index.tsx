import React from 'react'

export function Card({ title, description, href }) {
  return (
    <a href={href}>
      <strong>{title}</strong>
      <p>{description}</p>
    </a>
  )
}

export function Quiz({ question, hints, solution, className }) {
  return (
    <section className={className}>
      <p>{question}</p>
      <ul>{hints.map(hint => <li key={hint}>{hint}</li>)}</ul>
      <pre>{solution}</pre>
    </section>
  )
}

export function Steps({ items }) {
  return (
    <dl>
      {items.map(item => (
        <React.Fragment key={item.heading}>
          <dt>{item.heading}</dt>
          <dd>{item.text}</dd>
        </React.Fragment>
      ))}
    </dl>
  )
}

export function Question({ title, answer, children }) {
  return (
    <section>
      <p>{title}</p>
      <div>{answer ?? children}</div>
    </section>
  )
}
